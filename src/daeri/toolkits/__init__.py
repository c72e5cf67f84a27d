"""toolkits"""
