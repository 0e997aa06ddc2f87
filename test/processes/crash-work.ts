/* What the processes that are killed work on; parent and child agree on it here. */

export const batchTasks = [0, 1, 2, 3, 4, 5, 6, 7]
export const batchTables = ['x', 'y', 'z']
export const rowTasks = [0, 1, 2, 3]
export const moveTasks = [0, 1, 2]
export const returnTasks = [0, 1]
export const cloneTasks = [0, 1]
export const pairTasks = [0, 1, 2]
/** What follows the name of the table of rows in those that transactions change together. */
export const sides = ['-left', '-right']

export const columns = {
  fields: [
    { name: 'id', type: { type: 'int32' }, nullable: false },
    { name: 'note', type: { type: 'string' }, nullable: true },
  ],
}

/** The place that one table after the other is declared at. */
export function dropLocation(directory: string): string {
  return `${directory}/data/dropped`
}

/** The place of a table that is deregistered and registered over and over. */
export function returnLocation(directory: string, task: number): string {
  return `${directory}/data/return${task}`
}

/** The clone after so many, each made of the one before. */
export function cloneName(task: number, clones: number): string[] {
  return ['clones', `c${task}-${clones}`]
}

/** Where the table of a moving task lies after so many moves. */
export function moveName(task: number, moves: number): string[] {
  return moves % 2 === 0 ? ['moves', `m${task}-${moves}`] : ['moves', 'deep', `m${task}-${moves}`]
}
