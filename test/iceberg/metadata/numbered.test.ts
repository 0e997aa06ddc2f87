import { describe, expect, it } from 'vitest'
import { Numbered } from '../../../src/iceberg/metadata/numbered.ts'
import { refused } from './tables.ts'

const comparison = { rough: (text: string) => text.slice(0, 1), exact: (text: string) => text.toLowerCase() }
const numbered = (...items: [number, string][]) => new Numbered(items, comparison)

describe('items that have ids', () => {
  it('are found by what they say, also those that were added after the first search', () => {
    const items = numbered([3, 'apple'], [5, 'plum'])
    expect(items.find('aPPLE')).toBe(3)
    expect(items.find('avocado')).toBeUndefined()
    items.add(6, 'avocado')
    items.add(7, 'pear')
    expect(items.find('avocado')).toBe(6)
    expect(items.find('pear')).toBe(7)
    expect(items.changed).toBe(true)
  })

  it('are found no more once they are removed, but another that says the same is', () => {
    const items = numbered([1, 'apple'], [2, 'apple'])
    expect(items.find('apple')).toBe(1)
    expect(items.delete(1)).toBe(true)
    expect(items.find('apple')).toBe(2)
    expect(items.delete(2)).toBe(true)
    expect(items.find('apple')).toBeUndefined()
    expect(items.delete(2)).toBe(false)
  })

  it('get the id after the highest one that is there', () => {
    const items = numbered([4, 'apple'], [2, 'plum'])
    expect(items.nextId(0)).toBe(5)
    items.add(5, 'pear')
    expect(items.nextId(0)).toBe(6)
    items.delete(5)
    items.delete(4)
    expect(items.nextId(0)).toBe(3)
    expect(items.nextId(9)).toBe(9)
    refused(() => numbered([2 ** 31 - 2, 'apple']).nextId(0), 'IllegalArgumentException', 'Invalid ID')
  })
})
