"""Lesson 50, kernels: images and labels learned through a regression with a closed form (KIP and
label solve).
"""
