import { openPostgresStore } from '../../../src/stores/postgres/index.ts'

/* Makes one change within a turn, and tells that it was made. */

const store = await openPostgresStore(process.argv[2]!)
await store.inTurn!('one', () => store.write((tx) => tx.put(['in turn'], 1)))
console.log('made')
await store.close()
