"""What few ask of a measurement: do attackers agree, what would have been seen, which images to draw more often?"""
