import { illegalArgument } from '../errors.ts'

/** The location of a table without a slash at its end. That of a scheme, such as `file://`, stays. */
export function tableLocation(location: string, where: string): string {
  if (location === '') throw illegalArgument(`Invalid table location: ${where}: must not be empty`)
  let end = location.length
  while (end > 1 && location[end - 1] === '/' && !location.endsWith('://', end)) end--
  return location.slice(0, end)
}
