import { z } from 'zod';
import type { IdentifiedOperation, ReplySchema, RequestBody } from '../core/contract/operation.js';
import { problemDocument } from '../core/contract/problem.js';
import { schemaRegistry } from '../core/contract/schema.js';

type OpenApiObject = Record<string, unknown>;

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';
/** Statuses of decided refusals; 409 is the default. */
const REFUSAL_STATUSES = ['404', '409', '413', '429'];
const HEADER_PARAMETERS: Readonly<Record<string, OpenApiObject>> = {
  put_plan: header('If-Match', 'ETag of the plan to replace'),
  events_stream: header('Last-Event-ID', 'id of the last event received'),
};

/** Describes the operations as OpenAPI 3.1, from the schemas that also validate and render. */
export function buildOpenApi(operations: readonly IdentifiedOperation[]): OpenApiObject {
  const schemas = new SchemaComponents();
  const paths: Record<string, OpenApiObject> = {};
  for (const each of operations) {
    const described = operationObject(each, schemas);
    paths[each.path] = { ...paths[each.path], [each.method.toLowerCase()]: described };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Genesis Fleet',
      version: '1',
      description: 'Coordinator for fleets of AI agents.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operationObject(operation: IdentifiedOperation, schemas: SchemaComponents): OpenApiObject {
  const isPublic = operation.action === 'public';
  return {
    operationId: operation.id,
    summary: operation.summary,
    security: isPublic ? [] : [{ bearer: [] }, {}],
    'x-action': operation.action,
    parameters: [
      ...pathParameters(operation),
      ...queryParameters(operation, schemas),
      ...headerParameters(operation),
    ],
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation.body, schemas) }),
    responses: responses(operation, schemas),
  };
}

const pathParameters = ({ path }: IdentifiedOperation): OpenApiObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameters({ query }: IdentifiedOperation, schemas: SchemaComponents): OpenApiObject[] {
  if (query === undefined) return [];
  const { properties = {} } = schemas.inline(query, 'input') as {
    properties?: Record<string, OpenApiObject>;
  };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

const headerParameters = ({ id }: IdentifiedOperation): OpenApiObject[] =>
  HEADER_PARAMETERS[id] === undefined ? [] : [HEADER_PARAMETERS[id]];

function header(name: string, description: string): OpenApiObject {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

function requestBody(body: RequestBody, schemas: SchemaComponents): OpenApiObject {
  if (body.kind === 'bytes') {
    return { required: true, content: { 'application/octet-stream': { schema: {} } } };
  }
  const schema = schemas.inline(body.schema, 'input');
  const yaml = { 'application/yaml': { schema: { type: 'string' } } };
  return {
    required: true,
    content: { [JSON_TYPE]: { schema }, ...(body.kind === 'plan' ? yaml : {}) },
  };
}

function responses(
  { id, reply, isRefusable }: IdentifiedOperation,
  schemas: SchemaComponents,
): OpenApiObject {
  const content = contentOf(reply, schemas);
  const problem = { [PROBLEM_TYPE]: { schema: schemas.inline(problemDocument, 'output') } };
  const refused = isRefusable
    ? REFUSAL_STATUSES.map((status) => [status, responseObject('Refused', { ...content, ...problem })])
    : [];
  return {
    200: responseObject('Success', content),
    ...(id === 'submit_result' ? { 202: responseObject('Waiting for a human decision', content) } : {}),
    ...Object.fromEntries(refused),
    default: responseObject('Error in the request or in the server', problem),
  };
}

const responseObject = (description: string, content: OpenApiObject): OpenApiObject => ({
  description,
  content,
});

function contentOf(reply: ReplySchema, schemas: SchemaComponents): OpenApiObject {
  if ('content_type' in reply) return { [reply.content_type]: { schema: { type: 'string' } } };
  return { [JSON_TYPE]: { schema: schemas.inline(reply, 'output') } };
}

/** Converts schemas to JSON Schema. Named ones become components and are referenced. */
class SchemaComponents {
  readonly components: OpenApiObject = {};

  inline(schema: z.ZodType, io: 'input' | 'output'): OpenApiObject {
    // Wrapped in an object, so that a named schema becomes a reference even at the top level.
    const wrapped = z.toJSONSchema(z.object({ it: schema }), {
      io,
      metadata: schemaRegistry,
      unrepresentable: 'any',
    });
    const { $defs = {}, properties = {} } = withComponentRefs(wrapped) as {
      $defs?: OpenApiObject;
      properties?: OpenApiObject;
    };
    for (const [id, shape] of Object.entries($defs)) this.components[id] = withoutId(shape as OpenApiObject);
    return properties.it as OpenApiObject;
  }
}

const withComponentRefs = (schema: object): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));

const withoutId = ({ $id: _, id: __, ...shape }: OpenApiObject): OpenApiObject => shape;
