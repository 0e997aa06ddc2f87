import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { anySignal } from '../../../src/base/scheduling/signals.ts'
import { whileCollecting } from '../../support/garbage.ts'

const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))

describe('anySignal', () => {
  it('aborts with the first, and with its reason', () => {
    const [a, b] = [new AbortController(), new AbortController()]
    const any = anySignal(a.signal, undefined, b.signal)
    expect(any.aborted).toBe(false)
    b.abort('b')
    a.abort('a')
    expect(any.reason).toBe('b')
    expect(anySignal(any).reason).toBe('b')
  })

  it('holds what it was made of', async () => {
    const other = new AbortController()
    const one = () => aborted(anySignal(other.signal, AbortSignal.timeout(100)))
    const nested = () => aborted(anySignal(anySignal(AbortSignal.timeout(100), other.signal), undefined))
    for (const made of [one, nested])
      expect(await whileCollecting(made())).toMatchObject({ name: 'TimeoutError' })
  })

  it('is what all sources use', () => {
    const folder = fileURLToPath(new URL('../../../src', import.meta.url))
    const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.ts$/.test(name) && !name.endsWith('scheduling/signals.ts'))
      .filter((name) => {
        const source = readFileSync(join(folder, name), 'utf8')
        return /AbortSignal\.any\(/.test(source)
      })
    expect(found).toEqual([])
  })
})
