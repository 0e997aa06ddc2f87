/*
 * The simulation, bundled with the package into one module for tests and the soak. So it has its own timers and clocks,
 * and loads no part of the package from disk while it runs.
 */
export { mutations } from './mutations.ts'
export { simulate } from './run.ts'
export { scriptOf } from './script.ts'
export { firstViolation, report, shrink, sizeOf } from './shrink.ts'
