import { describe } from 'vitest';
import { describeIdleProjects } from '../../../test/support/idle-projects.js';

describe('a file store with ten thousand idle projects', () => describeIdleProjects(10_000));
