"""The processes beside the screen: what they read and write, what they say, and the frames they leave."""
