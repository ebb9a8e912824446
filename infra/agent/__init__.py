"""An example agent: a Strands agent that talks to this server as a shop's chatbot would."""
