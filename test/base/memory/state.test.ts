import { expect, test } from 'vitest'
import { MapEdit, OrderedMap } from '../../../src/base/memory/ordered-map.ts'
import { type MemorySnapshot, StateHolder } from '../../../src/base/memory/state.ts'

function mapWith<V>(value: V): OrderedMap<V> {
  const edit = new MapEdit<V>(OrderedMap.empty)
  edit.put('a', value)
  return edit.map()
}

const records = mapWith({ n: 1 })
const objects = mapWith({ bytes: new Uint8Array(1), modified: 0 })

test('every state is one that Immer made: the first, one after a change, and one that is put back', () => {
  const holder = new StateHolder()
  const states = [holder.state]
  holder.setRecords(records)
  states.push(holder.state)
  holder.setObjects(objects)
  states.push(holder.state)
  // As a fake's snapshots, it has more than the state.
  holder.restore({ ...states[1]!, time: 5 } as MemorySnapshot)
  states.push(holder.state)
  expect(states.map((state) => Object.isFrozen(state))).toEqual([true, true, true, true])
  expect(holder.state).toEqual({ records, objects: OrderedMap.empty })
  expect(new Set(states).size).toBe(4)
})

test('what changes nothing leaves the state the same object', () => {
  const holder = new StateHolder()
  holder.setRecords(records)
  const { state } = holder
  holder.setRecords(records)
  holder.setObjects(OrderedMap.empty)
  holder.restore({ ...state })
  expect(holder.state).toBe(state)
})

test('a restore that fails changes nothing', () => {
  const holder = new StateHolder()
  holder.setRecords(records)
  const { state } = holder
  const broken = {
    objects,
    get records(): never {
      throw new Error('damaged')
    },
  }
  expect(() => holder.restore(broken)).toThrow('damaged')
  expect(holder.state).toBe(state)
})

test('a state holds the records of its moment, and there is none while they change', () => {
  const holder = new StateHolder()
  const put = (n: number) => holder.changeRecords(() => holder.records.put('a', { n }))
  put(1)
  const first = holder.state
  expect(holder.state).toBe(first)
  put(2)
  holder.setObjects(objects)
  const second = holder.state
  put(3)
  expect([first, second, holder.state].map(({ records }) => records.find('a')?.value)).toEqual([
    { n: 1 },
    { n: 2 },
    { n: 3 },
  ])
  expect([first, second].map(({ objects }) => objects.size)).toEqual([0, 1])
  const during = () => holder.changeRecords(() => holder.state)
  expect(during).toThrow('inside the body')
  holder.restore(first)
  put(4)
  expect(first.records.find('a')?.value).toEqual({ n: 1 })
})
