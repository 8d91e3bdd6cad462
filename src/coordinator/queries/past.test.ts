import { expect, it } from 'vitest';
import type { Project } from '../queue/project.js';
import { PAST_EVENTS_MAX, positionProblem } from './past.js';

it('refuses a position that would take too many events to fold, and one beyond the log', () => {
  const project = { state: { position: PAST_EVENTS_MAX + 2 } } as Project;
  expect(positionProblem(project, PAST_EVENTS_MAX)).toBeNull();
  const detail = expect.stringContaining(String(PAST_EVENTS_MAX));
  expect(positionProblem(project, PAST_EVENTS_MAX + 1)).toMatchObject({ problem: 'INVALID_REQUEST', detail });
  expect(positionProblem(project, PAST_EVENTS_MAX + 3)).toMatchObject({ problem: 'CURSOR_AHEAD' });
});
