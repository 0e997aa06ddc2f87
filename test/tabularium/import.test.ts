import { expect, it, onTestFinished, vi } from 'vitest'

it('importing the package formats no number, for which a process first loads the formats of its language', async () => {
  const formatted = vi.spyOn(Number.prototype, 'toLocaleString')
  onTestFinished(() => formatted.mockRestore())
  await import('../../src/tabularium/index.ts')
  expect(formatted).not.toHaveBeenCalled()
})
