import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envelopeSchema } from './catalogue.js';
import type { EventEnvelope } from './envelope.js';
import { foreignEvents } from './foreign-log.js';
import { isObject, type JsonObject } from './plain-data.js';
import type { ForeignLogContext } from './read-flat.js';
import { snakeCase } from './snake-case.js';
import { foreignLogArbitrary, leafValuesOf } from './testing/foreign-log-arbitrary.js';

const context: ForeignLogContext = {
  tenant_id: 'acme',
  project_id: 'shop',
  source: 'old.jsonl',
  now_ms: Date.parse('2026-03-01T00:00:00Z'),
};
const idOf = (text: string, occurrence: number): string => {
  const hex = createHash('sha256').update(`${occurrence}\n${text}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
const foreignEventsOf = (...lines: unknown[]): EventEnvelope[] => [
  ...foreignEvents(
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))),
    context,
    idOf,
  ),
];
const singleEvent = (line: unknown): EventEnvelope => foreignEventsOf(line)[0] as EventEnvelope;
const time = '2026-02-23T10:00:00.000Z';

const openLineageLine = (parts: JsonObject = {}): JsonObject => ({
  eventType: 'OTHER',
  eventTime: time,
  run: {
    runId: 'run-of-tuesday',
    facets: {
      'sdlc:event_type': { type: 'IterationCompleted', _producer: 'p', _schemaURL: 's' },
      'sdlc:universal': { instance_id: 'i-1', actor: 'claude', causation_id: null, correlation_id: 'c' },
      'sdlc:payload': { _producer: 'p', feature: 'REQ-F-1', iteration: 3, delta: 2 },
    },
  },
  job: { namespace: 'aisdlc://shop_of_old', name: 'code↔unit_tests' },
  inputs: [],
  outputs: [{ name: 'src/a.ts' }],
  producer: 'https://example.org/engine',
  schemaURL: 'https://example.org/schema',
  ...parts,
});

describe('an OpenLineage line', () => {
  // req: EVT-016
  it('becomes the event that its facets describe, and keeps its envelope', () => {
    const event = singleEvent(openLineageLine());
    expect(event).toMatchObject({
      event_type: 'iteration_completed',
      timestamp: time,
      feature_id: 'REQ-F-1',
      edge: 'code_unit_tests',
      agent_id: 'claude',
      payload: {
        iteration: 3,
        delta: 2,
        imported: { original_edge: 'code↔unit_tests', project: 'shop_of_old' },
        open_lineage: {
          eventType: 'OTHER',
          run: { runId: 'run-of-tuesday', facets: { 'sdlc:payload': { _producer: 'p' } } },
          outputs: [{ name: 'src/a.ts' }],
        },
      },
    });
    expect([event.subject, event.seq]).toEqual([undefined, undefined]);
  });

  it('may spell its facets with an underscore and have a separate delta', () => {
    const facets = {
      sdlc_event_type: { type: 'EdgeStarted' },
      sdlc_delta: { delta: -1 },
      sdlc_req_keys: { feature_id: 'REQ-9' },
    };
    const event = singleEvent(openLineageLine({ run: { runId: '1', facets } }));
    expect(event).toMatchObject({ event_type: 'edge_started', payload: { imported: { delta: -1 } } });
    expect(event.payload).not.toHaveProperty('delta');
  });

  it.each<[string, JsonObject, string]>([
    ['sdlc_req_keys', { sdlc_req_keys: { feature_id: 'REQ-F-9', edge: 'design→code' } }, 'evaluate'],
    ['sdlc:req_keys', { 'sdlc:req_keys': { feature_id: 'REQ-F-9', edge: 'design→code' } }, 'METHODOLOGY'],
    ['sdlc:universal', { 'sdlc:universal': { instance_id: 'REQ-F-9', actor: 'a' } }, 'design→code'],
    ['job.name', {}, 'REQ-F-9:design→code'],
  ])('takes its feature and edge from %s', (_, facets, name) => {
    const typed = { 'sdlc:event_type': { type: 'ConvergenceAchieved' }, ...facets };
    const event = singleEvent({
      eventType: 'COMPLETE',
      eventTime: time,
      run: { facets: typed },
      job: { name },
    });
    expect(event).toMatchObject({
      event_type: 'convergence_achieved',
      feature_id: 'REQ-F-9',
      edge: 'design_code',
    });
  });

  it('prefers the feature and edge in its payload to the ones in the facets and the job', () => {
    const facets = {
      'sdlc:payload': { feature: 'REQ-F-1', edge: 'design→code' },
      sdlc_req_keys: { feature_id: 'REQ-F-2', edge: 'code→cicd' },
    };
    const event = singleEvent({
      ...openLineageLine({ run: { facets } }),
      job: { name: 'REQ-F-3:intent→requirements' },
    });
    expect(event).toMatchObject({ feature_id: 'REQ-F-1', edge: 'design_code' });
  });

  it.each(['unknown:design→code', 'SENSORY_PROBE:artifact', 'SPAWN:REQ-F-1', 'SPEC_EVOLUTION'])(
    'finds no feature in the job %s, nor in an instance that is a project',
    (name) => {
      const facets = {
        sdlc_req_keys: { feature_id: 'unknown', edge: '' },
        'sdlc:universal': { instance_id: 'shop_of_old' },
      };
      const event = singleEvent(openLineageLine({ run: { facets }, job: { name } }));
      expect([event.feature_id, event.edge]).toEqual([
        undefined,
        name.includes('→') ? 'design_code' : undefined,
      ]);
    },
  );

  it('that was migrated becomes its original event', () => {
    const original_data = {
      event_type: 'spawn_created',
      timestamp: time,
      project: 'p',
      data: { child: 'C' },
    };
    const event = singleEvent({
      eventType: 'COMPLETE',
      eventTime: time,
      run: {},
      _metadata: { original_data, v: 2 },
    });
    expect(event).toMatchObject({ event_type: 'spawn_created', payload: { child: 'C' } });
    expect(event.payload.open_lineage).toMatchObject({ eventType: 'COMPLETE', _metadata: { v: 2 } });
  });

  it.each([
    ['START', 'edge_started'],
    ['COMPLETE', 'edge_converged'],
    ['ABORT', 'iteration_abandoned'],
    ['FAIL', 'open_lineage_fail'],
    ['OTHER', 'open_lineage_other'],
  ])('with only the event type %s becomes %s', (eventType, event_type) => {
    expect(singleEvent({ eventType, eventTime: time, job: { name: 'design→code' } })).toMatchObject({
      event_type,
      edge: 'design_code',
    });
  });

  it.each([
    ['IterationCompleted', 'iteration_completed'],
    ['edge_started', 'edge_started'],
    ['CLAIM_ACQUIRED', 'CLAIM_ACQUIRED'],
    ['OLEvent', 'ol_event'],
    ['Phase2Done', 'phase2_done'],
  ])('of type %s becomes an event of type %s', (written, type) => {
    expect(snakeCase(written)).toBe(type);
  });
});

describe('a hybrid of both dialects', () => {
  it('is one event, and conflicting values are both kept', () => {
    const hybrid = openLineageLine({
      event_type: 'iteration_completed',
      timestamp: '2026-02-23T21:00:00+11:00',
      delta: 5,
    });
    const event = singleEvent(hybrid);
    expect(event).toMatchObject({
      event_type: 'iteration_completed',
      timestamp: time,
      payload: { delta: 5 },
    });
    expect(event.payload.open_lineage).toMatchObject({
      timestamp: '2026-02-23T21:00:00+11:00',
      run: { facets: { 'sdlc:payload': { delta: 2 } } },
    });
  });
});

describe('a foreign log', () => {
  it('reads a type in camel case as the same type in snake case, and keeps the original', () => {
    const line = { event_type: 'ConvergenceAchieved', timestamp: time, feature: 'F', edge: 'design→code' };
    expect(singleEvent(line)).toMatchObject({
      event_type: 'convergence_achieved',
      payload: { imported: { original_type: 'ConvergenceAchieved' } },
    });
  });

  it('counts identical lines and gives each a stable id', () => {
    const line = { event_type: 'edge_started', timestamp: time, project: 'p' };
    const otherOrder = { project: 'p', timestamp: time, event_type: 'edge_started' };
    const first = foreignEventsOf(line, line, otherOrder).map(({ event_id }) => event_id);
    expect(new Set(first).size).toBe(3);
    expect(foreignEventsOf(line, otherOrder, line).map(({ event_id }) => event_id)).toEqual(first);
  });

  it.each([
    ['invalid JSON', '{"event_type": "x"', 'it is not JSON'],
    ['a value that is not an object', '[1]', 'it is not an object'],
    ['no type', { timestamp: time }, 'it has no type'],
    ['a type that is not text', { event_type: 7, timestamp: time }, 'it has no type'],
    ['no time', { event_type: 'x' }, 'it has no time that can be read'],
    ['an invalid time', { event_type: 'x', timestamp: 'yesterday' }, 'it has no time that can be read'],
    [
      'a command',
      { event_type: 'edge_claim', timestamp: time },
      'edge_claim is a command, not something that happened',
    ],
    [
      'a forbidden field name',
      `{"event_type":"x","timestamp":"${time}","__proto__":{}}`,
      'it has a field called __proto__',
    ],
    [
      'too deep nesting',
      `{"event_type":"x","timestamp":"${time}","a":${'['.repeat(99)}${']'.repeat(99)}}`,
      'it is nested more than 32 deep',
    ],
  ])('keeps a line with %s unchanged', (_, line, reason) => {
    const raw = typeof line === 'string' ? line : JSON.stringify(line);
    expect(singleEvent(line)).toMatchObject({
      event_type: 'foreign_line',
      payload: { line: 1, raw, reason },
    });
  });

  it('writes no time after the import, and keeps the original timestamp', () => {
    expect(singleEvent({ event_type: 'x', timestamp: '2999-01-01T00:00:00Z' })).toMatchObject({
      timestamp: '2026-03-01T00:00:00.000Z',
      payload: { imported: { original_timestamp: '2999-01-01T00:00:00Z' } },
    });
  });

  it('leaves values that are not valid ids in the payload', () => {
    const { payload, ...envelope } = singleEvent({
      event_type: 'x',
      timestamp: time,
      feature: 'A#B',
      edge: 'Überbau',
      agent_id: 'two words',
      data: { generation: 'first' },
    });
    expect(envelope).not.toHaveProperty('feature_id');
    expect(envelope).not.toHaveProperty('edge');
    expect(envelope).toMatchObject({ agent_id: 'primary' });
    expect(payload).toMatchObject({
      feature: 'A#B',
      edge: 'Überbau',
      agent_id: 'two words',
      generation: 'first',
    });
  });

  it('loses nothing: every value of a line is in its event', () => {
    fc.assert(
      fc.property(foreignLogArbitrary(), (lines) => {
        const importedEvents = foreignEventsOf(...lines);
        const nonEmptyLines = lines.filter((line) => line.trim() !== '');
        expect(importedEvents).toHaveLength(nonEmptyLines.length);
        expect(new Set(importedEvents.map(({ event_id }) => event_id)).size).toBe(nonEmptyLines.length);
        for (const [at, { position: _, ...event }] of importedEvents.entries()) {
          expect(envelopeSchema.safeParse(event).error).toBeUndefined();
          const eventLeaves = leafValuesOf(event);
          for (const leaf of leafValuesOf(fieldsOfLine(nonEmptyLines[at] as string, event.event_type))) {
            expect(eventLeaves, `${leaf} of ${nonEmptyLines[at]}`).toContain(leaf);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** The values that the event must contain: the fields of the line, or its text if the line could not be converted. */
function fieldsOfLine(line: string, eventType: string): unknown {
  if (eventType === 'foreign_line') return line;
  const value: unknown = JSON.parse(line);
  return isObject(value) ? withoutTypes(value) : value;
}

/** The line without its types: an import changes their spelling, which the tests above cover. */
const withoutTypes = ({ eventType: _, event_type: __, ...line }: JsonObject): JsonObject => line;
