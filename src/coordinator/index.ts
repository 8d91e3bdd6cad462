export { type Blobs, MemoryBlobs } from '../stores/blobs.js';
export { FolderBlobs } from '../stores/file/folder-blobs.js';
export { type Caller, OPEN_CALLER } from './caller.js';
export { Coordinator, type CoordinatorOptions } from './coordinator.js';
export { type Environment, systemEnvironment } from './environment.js';
export type { KeyRing } from './key-ring.js';
export type { KeyScope } from './operations/keys.js';
export { isProblem, type Problem, type ProblemCode } from './problem.js';
export type * from './wire.js';
