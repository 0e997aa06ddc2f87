/* The tables and tasks of the killed processes, shared by parent and child. */

export const batchTasks = [0, 1, 2, 3, 4, 5, 6, 7]
export const batchTables = ['x', 'y', 'z']
export const rowTasks = [0, 1, 2, 3]
export const moveTasks = [0, 1, 2]
export const returnTasks = [0, 1]
export const cloneTasks = [0, 1]
export const pairTasks = [0, 1, 2]
/** The suffix of the tables that transactions change together with the table of rows. */
export const sides = ['-left', '-right']

/** How many inserts into each of its tables the n-th transaction over two tables makes. */
export function insertsOfPair(n: number): number {
  return 1 + (n % 4)
}

export const columns = {
  fields: [
    { name: 'id', type: { type: 'int32' }, nullable: false },
    { name: 'note', type: { type: 'string' }, nullable: true },
  ],
}

/** The location where one table after another is declared. */
export function dropLocation(directory: string): string {
  return `${directory}/data/dropped`
}

/** The location of a table that is repeatedly deregistered and registered. */
export function returnLocation(directory: string, task: number): string {
  return `${directory}/data/return${task}`
}

/** The name of the n-th clone, each of which is a clone of the previous one. */
export function cloneName(task: number, clones: number): string[] {
  return ['clones', `c${task}-${clones}`]
}

/** The identifier of the table of a moving task after n moves. */
export function moveName(task: number, moves: number): string[] {
  return moves % 2 === 0 ? ['moves', `m${task}-${moves}`] : ['moves', 'deep', `m${task}-${moves}`]
}
