/*
 * The simulation, as tests and the soak load it: bundled into one module, with the package. So the simulation has timers
 * and clocks of its own, and no part of the package is read from a disk while it runs.
 */
export { mutations } from './mutations.ts'
export { simulate } from './run.ts'
export { scriptOf } from './script.ts'
export { firstBroken, report, shrink, sizeOf } from './shrink.ts'
