"""The processes next to the screen: what they read and write, their messages, and the frames they leave."""
