"""What has to be looked after from time to time, whether or not a job asks for it."""
