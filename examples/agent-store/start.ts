import { openCatalog } from 'tabularium'
import { Session } from './store.ts'

await using catalog = await openCatalog('./catalog')
const session = await Session.open(catalog, 'trip-to-lisbon')
const count = async (table: string) => (await catalog.countTableRows({ id: session.id(table) })).count

await session.step(async (tx, id) => {
  await tx.createTable({ id: id('notes'), data: [{ text: 'The user likes trains.' }] })
  await tx.createTable({ id: id('hotels'), data: [{ name: 'Tejo', price: 140 }] })
})
await session.checkpoint('asked')

// A tool fails in the middle of a step: nothing of the step is there.
const failed = session.step(async (tx, id) => {
  await tx.insertIntoTable({ id: id('notes'), data: [{ text: 'Booked.' }] })
  throw new Error('The hotel does not answer.')
})
console.log(await failed.catch((error: Error) => error.message)) // The hotel does not answer.
console.log(await count('notes')) // 1

// Found rows are looked at on a branch first.
const isCheap = async (found: (predicate: string) => Promise<number>) => (await found('price > 300')) === 0
console.log(await session.attempt('hotels', [{ name: 'Alfama', price: 900 }], isCheap)) // false
console.log(await session.attempt('hotels', [{ name: 'Baixa', price: 120 }], isCheap)) // true
console.log(await count('hotels')) // 2

// The user changes their mind: all tables go back to the checkpoint together.
await session.step((tx, id) => tx.createTable({ id: id('plan'), data: [{ day: 1, town: 'Sintra' }] }))
await session.goBack('asked')
const tables = (await catalog.listTables({ id: ['sessions', 'trip-to-lisbon'] })).tables
console.log(tables.length, await count('hotels')) // 2 1

await session.end()
