import { expect, test } from 'vitest'
import { CatalogError } from '../../src/base/errors.ts'
import { fileError } from '../../src/contents/files/file-errors.ts'

test.each([
  ['ENOSPC', 'ServiceUnavailable', 'the disk is full'],
  ['EDQUOT', 'ServiceUnavailable', 'quota'],
  ['EMFILE', 'ServiceUnavailable', 'too many files'],
  ['EACCES', 'PermissionDenied', 'may not'],
  ['EPERM', 'PermissionDenied', 'may not'],
  ['EROFS', 'PermissionDenied', 'cannot be written'],
  ['ENAMETOOLONG', 'InvalidInput', 'too long'],
  ['EEXIST', 'ConcurrentModification', 'in the way'],
  ['EIO', 'Internal', 'EIO'],
])('%s is %s and says what to do', (system, code, words) => {
  const cause = Object.assign(new Error(`${system}: it failed`), { code: system })
  const error = fileError('write', '/data/x', cause)
  expect(error).toMatchObject({ code, cause })
  expect(error.message).toContain('Cannot write /data/x:')
  expect(error.message).toContain(words)
  expect(error.message).toMatch(/\.$/)
})

test('an error of ours stays what it is', () => {
  const error = new CatalogError('PermissionDenied', 'no')
  expect(fileError('read', '/data/x', error)).toBe(error)
})
