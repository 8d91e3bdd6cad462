import { describe, expect, it } from 'vitest';
import type { Escalation } from '../contract/start.js';
import { AUTO_RUNS_MAX, type AutoEdge, type AutoFacts, nextAutoStep } from './auto-step.js';

const autoEdge = (feature_id: string, has_constructor = true): AutoEdge => ({
  feature_id,
  edge: 'design_code',
  has_constructor,
});
const escalationOf = (kind: Escalation['kind'], feature_id: string | null): Escalation => ({
  kind,
  feature_id,
  edge: null,
  severity: 'high',
  since: '2026-01-01T00:00:00.000Z',
  says: `${kind} of ${feature_id}`,
  next: `gen ${kind}`,
});
const NOTHING: AutoFacts = {
  feature_id: null,
  is_loop: false,
  first: null,
  unfinished: [],
  requested: [],
  recommended: [],
  escalations: [],
  nothing_recommended: null,
  set_aside: new Set(),
  pause: null,
  runs: 0,
  last_feature_id: null,
};
const PAUSE = { says: 'A waits.', next: 'gen review' };

/** The decided step as a short text. */
function decidedStep(facts: Partial<AutoFacts>): string {
  const step = nextAutoStep({ ...NOTHING, ...facts });
  if (step.kind === 'RUN') return `RUN ${step.edge.feature_id}`;
  return step.kind === 'PAUSE' ? `PAUSE ${step.says} ${step.next}` : step.kind;
}

const ALL = {
  first: autoEdge('F'),
  unfinished: [autoEdge('U')],
  requested: [autoEdge('Q')],
  recommended: [autoEdge('R')],
};
const TABLE: readonly (readonly [string, Partial<AutoFacts>, string])[] = [
  ['ends if no edge can be run', {}, 'DONE'],
  ['waits with --loop if no edge can be run', { is_loop: true }, 'WAIT'],
  ['runs the named edge first', ALL, 'RUN F'],
  ['runs an unfinished edge second', { ...ALL, first: null }, 'RUN U'],
  ['runs a requested edge third', { ...ALL, first: null, unfinished: [] }, 'RUN Q'],
  ['runs an edge that start recommends last', { recommended: [autoEdge('R')] }, 'RUN R'],
  ['skips an edge whose run did not converge', { ...ALL, set_aside: new Set(['F#design_code']) }, 'RUN U'],
  ['skips an edge without a constructor', { recommended: [autoEdge('R', false), autoEdge('S')] }, 'RUN S'],
  ['ends if no edge has a constructor', { recommended: [autoEdge('R', false)] }, 'DONE'],
  [
    'runs only edges of the named feature',
    { requested: [autoEdge('Q'), autoEdge('A')], feature_id: 'A' },
    'RUN A',
  ],
  ['pauses after a run that needs a person', { ...ALL, pause: PAUSE }, 'PAUSE A waits. gen review'],
  ['stops at the limit of runs while an edge is ready', { ...ALL, runs: AUTO_RUNS_MAX }, 'LIMIT'],
  ['ends after as many runs if no edge can be run', { runs: AUTO_RUNS_MAX }, 'DONE'],
  ['has no limit of runs with --loop', { ...ALL, runs: AUTO_RUNS_MAX, is_loop: true }, 'RUN F'],
  ['continues with other edges with --loop', { ...ALL, pause: PAUSE, is_loop: true }, 'RUN F'],
  [
    'pauses at the expired time box of the named feature',
    { feature_id: 'R', recommended: [autoEdge('R')], escalations: [escalationOf('time_box', 'R')] },
    'PAUSE time_box of R. gen time_box',
  ],
  [
    'pauses at the expired time box of the feature that was worked on',
    { last_feature_id: 'R', recommended: [autoEdge('S')], escalations: [escalationOf('time_box', 'R')] },
    'PAUSE time_box of R. gen time_box',
  ],
  [
    'skips a feature with an expired time box',
    { recommended: [autoEdge('R'), autoEdge('S')], escalations: [escalationOf('time_box', 'R')] },
    'RUN S',
  ],
  [
    'skips a feature with an expired time box with --loop too',
    { is_loop: true, recommended: [autoEdge('R')], escalations: [escalationOf('time_box', 'R')] },
    'WAIT',
  ],
  [
    'pauses if nothing is ready and a person is needed',
    { escalations: [escalationOf('intent', 'A'), escalationOf('stuck', 'A')] },
    'PAUSE stuck of A. gen stuck',
  ],
  ['ends if only an intent waits for a person', { escalations: [escalationOf('intent', 'A')] }, 'DONE'],
  [
    'ends if a person is needed only for another feature',
    { feature_id: 'B', escalations: [escalationOf('review', 'A')] },
    'DONE',
  ],
];

describe('gen iterate --auto', () => {
  it.each(TABLE)('%s', (_, facts, step) => {
    expect(decidedStep(facts)).toBe(step);
  });

  it('names the edges without a constructor', () => {
    expect(nextAutoStep({ ...NOTHING, recommended: [autoEdge('R', false)] })).toMatchObject({
      says: expect.stringContaining('R#design_code'),
    });
  });
});

it('repeats why start recommends nothing', () => {
  const nothing_recommended = { says: 'every feature has converged', next: 'gen gaps' };
  const says = 'Nothing is ready: every feature has converged. Next: gen gaps';
  expect(nextAutoStep({ ...NOTHING, nothing_recommended })).toEqual({ kind: 'DONE', says });
});
