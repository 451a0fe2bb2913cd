"""Looped Transformers as Programmable Computers (Giannou et al.).

The machines are constructed once, as named heads and units (:mod:`.machine.layers`), and the matrices that come of them
are executed in three ways. All give the same states; where they differ, the last digits do, before they are rounded.

================  ====================================================  ===============================================
by                takes                                                 for
================  ====================================================  ===============================================
``LoopedModule``  any state, type and device; gradients, export; a      users (``attention_theory.nn``), files, the
                  factor on the scores; a soft or a hard maximum        literal layers (``LoopedTransformer.cycle``)
``SparseLayers``  any machine and state in float64 on the CPU; a        many cycles of SUBLEQ and FLEQ machines: it
                  softmax                                               leaves out what the numbers say is nothing
``SubleqRunner``  loaded SUBLEQ programs likewise; an integer in bits   most cycles per second: it knows that only the
                                                                        scratchpad and the memory change
================  ====================================================  ===============================================

An interpreter of each language (``subleq.language.interpret``, ``fleq.language.interpret``) says what is right. Inside
this room a state has the papers' words, ``(..., columns, rows)``: a column is a token, a row a feature.
"""
