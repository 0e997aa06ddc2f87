import { unavailable } from '../../unavailable.ts'

export const realpath = unavailable('A folder')
