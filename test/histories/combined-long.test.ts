import { testCombined } from './combined-steps.ts'

// Other histories than those of the short test.
testCombined({ memory: 200, lmdb: 60, http: 60, postgres: 15 }, { seconds: 480, seed: 20_261_121 })
