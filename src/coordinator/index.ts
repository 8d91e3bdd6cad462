export { type Blobs, MemoryBlobs } from './blobs.js';
export { type Caller, OPEN_CALLER } from './caller.js';
export { Coordinator, type CoordinatorOptions } from './coordinator.js';
export { type Environment, systemEnvironment } from './environment.js';
export { FolderBlobs } from './folder-blobs.js';
export { isProblem, type Problem, type ProblemCode } from './problem.js';
export type * from './wire.js';
