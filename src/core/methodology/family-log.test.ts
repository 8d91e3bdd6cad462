import { describe, expect, it } from 'vitest';
import { parseForeignLine } from '../events/foreign-log.js';
import { FamilyLogWriter } from './family-log.js';
import { EventLogBuilder } from './testing/event-log-builder.js';
import { testMethodology } from './testing/project.js';

const F = 'REQ-F-AUTH-001';
const writtenLines = (log: EventLogBuilder): Record<string, unknown>[] => {
  const writer = new FamilyLogWriter(testMethodology().topology);
  return log.events.flatMap((event) => {
    const line = writer.lineOf(event);
    return line === null ? [] : [JSON.parse(line)];
  });
};

/** The fields that the monitor of the family reads. All are at the top level of a flat line. */
const monitoredFields = ({
  event_type,
  project,
  feature,
  edge,
  iteration,
  delta,
}: Record<string, unknown>) => ({
  event_type,
  project,
  feature,
  edge,
  iteration,
  delta,
});

describe('the log for the family', () => {
  it('has feature, edge, iteration and delta where the monitor looks for them', () => {
    const log = new EventLogBuilder()
      .iterate(F, 'code_unit_tests', 4, 0)
      .append('edge_converged', F, 'code_unit_tests', { outcome: 'ACCEPTED' });
    const commonFields = { project: 'shop', feature: F, edge: 'code↔unit_tests' };
    expect(writtenLines(log).map(monitoredFields)).toEqual([
      { event_type: 'edge_started', ...commonFields, iteration: undefined, delta: undefined },
      { event_type: 'iteration_completed', ...commonFields, iteration: 1, delta: 4 },
      { event_type: 'iteration_completed', ...commonFields, iteration: 2, delta: 0 },
      { event_type: 'edge_converged', ...commonFields, iteration: 2, delta: 0 },
    ]);
  });

  it('leaves out the records of the coordinator, and writes unconverted lines unchanged', () => {
    const log = new EventLogBuilder()
      .append('KEY_CREATED', null, null, { by: 'a', record: {} }, { subject: '~key/1', seq: 1 })
      .append('foreign_line', null, null, { raw: '{"a":1}', line: 1, reason: 'it has no type' });
    expect(writtenLines(log)).toEqual([{ a: 1 }]);
  });

  it('gives an imported event its original time, edge and project', () => {
    const line = {
      event_type: 'edge_converged',
      timestamp: '2026-02-01T10:00:00+11:00',
      project: 'old',
      feature: F,
      edge: 'design->code',
      data: { iteration: 3 },
    };
    const context = { tenant_id: 'acme', project_id: 'shop', source: 'x', now_ms: Date.now() };
    const parsed = parseForeignLine(line, context, 1);
    if (typeof parsed === 'string') throw new Error(parsed);
    const { event_type, ...envelope } = parsed;
    const log = new EventLogBuilder().append(event_type, null, null, {}, envelope);
    expect(writtenLines(log)).toEqual([
      { ...line, iteration: 3, delta: 0, agent_id: 'primary', data: { iteration: 3 } },
    ]);
  });
});
