"""Lesson 60: DD, learned images and rates by the loss after training."""
