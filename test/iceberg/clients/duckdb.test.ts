import { testClient } from './judge.ts'

await testClient('duckdb', 'DuckDB', ['ours', 'fake'])
