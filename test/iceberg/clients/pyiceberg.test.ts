import { testClient } from './judge.ts'

await testClient('pyiceberg', 'PyIceberg', ['ours', 'fake'])
