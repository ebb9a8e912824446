"""Example agent: a Strands agent that uses this server as a shop's chatbot would."""
