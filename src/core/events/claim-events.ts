import { z } from 'zod';
import { type ClaimEventKind, EVENT_TYPES } from '../claims/claim-event-kinds.js';
import { claimPayloadSchemas, evidenceFields } from './claim-payload-schemas.js';
import { nameSchema, nonNegativeInteger, openObject, sentenceSchema } from './fields.js';

/** `warned` shares its event types with `escalated`. */
type SchemaKind = Exclude<ClaimEventKind, 'warned'>;
type SchemasOf<Vocabulary extends 'task' | 'edge'> = {
  [Kind in SchemaKind as (typeof EVENT_TYPES)[Kind][Vocabulary]]: (typeof claimPayloadSchemas)[Kind];
};

const schemasOf = <Vocabulary extends 'task' | 'edge'>(vocabulary: Vocabulary): SchemasOf<Vocabulary> =>
  Object.fromEntries(
    (Object.keys(EVENT_TYPES) as ClaimEventKind[])
      .filter((kind) => kind !== 'warned')
      .map((kind) => [EVENT_TYPES[kind][vocabulary], claimPayloadSchemas[kind]]),
  ) as SchemasOf<Vocabulary>;

/** Events about a task: the types of specification 004, and additional ones in the same style. */
export const taskEventSchemas = schemasOf('task');

/**
 * Events about an edge of a feature. Three types are both a claim event and a step of the methodology, so their schemas
 * have the fields of both; the fields of the methodology are optional.
 */
export const edgeEventSchemas = {
  ...schemasOf('edge'),
  edge_started: claimPayloadSchemas.granted.extend({
    iteration: nonNegativeInteger.exactOptional(),
    profile: nameSchema.exactOptional(),
    vector_type: nameSchema.exactOptional(),
  }),
  edge_converged: claimPayloadSchemas.accepted.extend({
    ...evidenceFields,
    evaluators: z.union([nameSchema, openObject]).exactOptional(),
    next_edge: nameSchema.exactOptional(),
  }),
  result_adopted: claimPayloadSchemas.adopted.extend(evidenceFields),
  convergence_escalated: z.union([
    claimPayloadSchemas.escalated.extend({ ...evidenceFields, iteration: nonNegativeInteger }),
    claimPayloadSchemas.warned,
  ]),
  review_completed: claimPayloadSchemas.reviewed.extend({
    feedback: sentenceSchema.exactOptional(),
    all_evaluators_pass: z.boolean().exactOptional(),
    review_type: nameSchema.exactOptional(),
    gradient: openObject.exactOptional(),
  }),
  result_rejected: claimPayloadSchemas.result_refused.extend(evidenceFields),
};
