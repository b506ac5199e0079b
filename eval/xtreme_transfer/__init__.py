"""Transfer to XTREME: does a body that has learnt a corpus help with tasks in human languages?"""
