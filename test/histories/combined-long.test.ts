import { testCombined } from './combined-steps.ts'

// Other histories than those of the short test.
testCombined({ memory: 100, lmdb: 30, http: 30, postgres: 10 }, { seconds: 480, seed: 20_261_121 })
