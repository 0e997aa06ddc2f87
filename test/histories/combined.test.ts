import { testCombined } from './combined-steps.ts'

testCombined({ memory: 30, lmdb: 8, http: 8, postgres: 3 }, { seconds: 120 })
