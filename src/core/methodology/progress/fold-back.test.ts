import { describe, expect, it } from 'vitest';
import type { VectorType } from '../../contract/values.js';
import type { Feature } from '../definition/methodology.js';
import { EventLogBuilder } from '../testing/event-log-builder.js';
import { routeInputOf, testFeature, testMethodology } from '../testing/project.js';
import { edgeUnblockedBy, foldBackRefusal, remediationFeature } from './fold-back.js';
import { projectProgressOf } from './project-progress.js';

const PARENT = 'REQ-F-AUTH-001';
const childOf = (vector_type: VectorType): Feature =>
  testFeature('CHILD', { vector_type, parent: { feature: PARENT, edge: 'design_code', reason: 'a risk' } });

describe('a fold-back', () => {
  const refusalFor = (vector_type: VectorType, question_answered: boolean) => {
    const input = routeInputOf({ features: [testFeature(PARENT), childOf(vector_type)] });
    const progress = projectProgressOf(input).features.get('CHILD');
    if (progress === undefined) throw new Error('The child is not in the project.');
    return foldBackRefusal(progress, { fold_back_status: 'converged', question_answered });
  };

  it.each(['discovery', 'spike', 'poc'] as const)(
    'of a %s is allowed once its question is answered',
    (type) => {
      expect(refusalFor(type, true)).toBeNull();
      expect(refusalFor(type, false)).toMatchObject({
        code: 'NOT_CONVERGED',
        says: expect.stringContaining('question_answered'),
      });
    },
  );

  it.each(['feature', 'hotfix'] as const)('of a %s is refused while it has open edges', (type) => {
    const says = 'CHILD has open edges. Converge them first.';
    expect(refusalFor(type, true)).toEqual({ code: 'NOT_CONVERGED', says });
  });
});

describe('the edge that a fold-back unblocks', () => {
  const spawn = (child: string, edge: string) => ({
    parent: PARENT,
    child,
    vector_type: 'spike',
    reason: 'a risk',
    triggered_at_edge: edge,
  });

  it('is the edge that waits for this child and for no other', () => {
    const log = new EventLogBuilder()
      .append('spawn_created', null, null, spawn('OTHER', 'requirements_design'))
      .append('spawn_created', null, null, spawn('FIRST', 'design_code'))
      .append('spawn_created', null, null, spawn('SECOND', 'design_code'));
    const unblockedBy = (child: string) => edgeUnblockedBy(child, log.fold().features.get(PARENT));
    expect(['OTHER', 'FIRST', 'SECOND'].map(unblockedBy)).toEqual(['requirements_design', null, null]);
    log.append('spawn_folded_back', null, null, { parent: PARENT, child: 'FIRST' });
    expect(['OTHER', 'FIRST', 'SECOND'].map(unblockedBy)).toEqual([
      'requirements_design',
      null,
      'design_code',
    ]);
    expect(edgeUnblockedBy('SECOND', undefined)).toBeNull();
  });
});

it('gives the remediation of a hotfix a title of at most 200 characters, and no edge to block', () => {
  const hotfix = { ...childOf('hotfix'), title: 'x'.repeat(200) };
  const remedy = remediationFeature(hotfix, 'REQ-F-REMEDY-001', testMethodology(), 0);
  expect(remedy).toMatchObject({
    title: `Remediation: ${'x'.repeat(187)}`,
    profile: 'standard',
    parent: { feature: PARENT, edge: null, reason: 'remediation of CHILD' },
    time_box: null,
  });
});
