import fc from 'fast-check'

/*
 * Random tests draw the same values on every run, so that a failure means a change. FC_SEED explores others.
 */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 20_261_120) })
