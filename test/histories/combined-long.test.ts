import { testCombined } from './combined-steps.ts'

// Other histories than those of the short test.
testCombined({ memory: 400, lmdb: 100, http: 100, postgres: 25 }, { seconds: 480, seed: 20_261_121 })
