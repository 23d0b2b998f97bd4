"""A captured packet to a TCP segment: what capture tools put before it, link, tunnels, IP, TCP."""
