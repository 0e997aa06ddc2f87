import { unavailable } from '../unavailable.ts'

export const sep = '/'
export const resolve = unavailable('A folder')
