import { unavailable } from '../../unavailable.ts'

export const opendir = unavailable('A folder')
export const realpath = unavailable('A folder')
