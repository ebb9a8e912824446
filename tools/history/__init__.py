"""What a conversation's past calls say, in few words."""
