import { testClient } from './judge.ts'

await testClient('spark', 'Spark', ['ours'])
