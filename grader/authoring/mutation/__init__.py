"""Mutation testing: are small edits of right programs caught by an assignment's tests?"""
