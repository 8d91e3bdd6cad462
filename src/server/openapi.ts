import { z } from 'zod';
import type { IdentifiedOperation, ReplySchema, RequestBody } from '../core/contract/operation.js';
import { problemDocument } from '../core/contract/problem.js';
import { schemaRegistry } from '../core/contract/schema.js';

type OpenApiObject = Record<string, unknown>;

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';
/** Statuses of decided refusals; 409 is the default. */
const REFUSAL_STATUSES = ['404', '409', '413', '429'];
const HEADER_PARAMETERS: Readonly<Record<string, OpenApiObject[]>> = {
  put_plan: [headerParameter('If-Match', 'ETag of the plan to replace')],
  events_stream: [headerParameter('Last-Event-ID', 'id of the last event received')],
};

/** Describes the operations as OpenAPI 3.1, from the schemas that also validate and render. */
export function buildOpenApi(operations: readonly IdentifiedOperation[]): OpenApiObject {
  const schemas: OpenApiObject = {};
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
      schemas,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operationObject(operation: IdentifiedOperation, schemas: OpenApiObject): OpenApiObject {
  const isPublic = operation.action === 'public';
  return {
    operationId: operation.id,
    tags: [tagOf(operation)],
    summary: operation.summary,
    security: isPublic ? [] : [{ bearer: [] }, {}],
    'x-action': operation.action,
    parameters: [
      ...pathParameters(operation),
      ...queryParameters(operation, schemas),
      ...(HEADER_PARAMETERS[operation.id] ?? []),
    ],
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation.body, schemas) }),
    responses: responsesOf(operation, schemas),
  };
}

/** Groups the reference by what the path names below project or tenant. */
function tagOf({ path }: IdentifiedOperation): string {
  const [, ofTenant] =
    /^\/api\/tenants\/\{tenant_id\}(?:\/projects\/\{project_id\})?\/(\w+)/.exec(path) ?? [];
  return ofTenant ?? (path.startsWith('/api/') ? 'methodology' : 'server');
}

const pathParameters = ({ path }: IdentifiedOperation): OpenApiObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameters({ query }: IdentifiedOperation, schemas: OpenApiObject): OpenApiObject[] {
  if (query === undefined) return [];
  const { properties = {} } = jsonSchema(query, 'input', schemas) as {
    properties?: Record<string, OpenApiObject>;
  };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

function headerParameter(name: string, description: string): OpenApiObject {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

function requestBody(body: RequestBody, schemas: OpenApiObject): OpenApiObject {
  if (body.kind === 'bytes') {
    return { required: true, content: { 'application/octet-stream': { schema: {} } } };
  }
  const schema = jsonSchema(body.schema, 'input', schemas);
  if (body.kind === 'form')
    return { required: true, content: { 'application/x-www-form-urlencoded': { schema } } };
  const yaml = { 'application/yaml': { schema: { type: 'string' } } };
  return {
    required: true,
    content: { [JSON_TYPE]: { schema }, ...(body.kind === 'plan' ? yaml : {}) },
  };
}

function responsesOf({ id, reply, isRefusable }: IdentifiedOperation, schemas: OpenApiObject): OpenApiObject {
  const content = contentOf(reply, schemas);
  const problem = { [PROBLEM_TYPE]: { schema: jsonSchema(problemDocument, 'output', schemas) } };
  const refused = isRefusable
    ? REFUSAL_STATUSES.map((status) => [
        status,
        { description: 'Refused', content: { ...content, ...problem } },
      ])
    : [];
  return {
    200: { description: 'Success', content: content },
    ...(id === 'submit_result'
      ? { 202: { description: 'Waiting for the decision of a person', content: content } }
      : {}),
    ...Object.fromEntries(refused),
    default: { description: 'Error in the request or in the server', content: problem },
  };
}

function contentOf(reply: ReplySchema, schemas: OpenApiObject): OpenApiObject {
  if ('content_type' in reply) return { [reply.content_type]: { schema: { type: 'string' } } };
  return { [JSON_TYPE]: { schema: jsonSchema(reply, 'output', schemas) } };
}

/** The schema as JSON Schema. Named ones are added to the components and referenced. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', components: OpenApiObject): OpenApiObject {
  // Wrapped in an object, so that a named schema becomes a reference even at the top level.
  const wrapped = z.toJSONSchema(z.object({ it: schema }), {
    io,
    metadata: schemaRegistry,
    unrepresentable: 'any',
  });
  const { $defs = {}, properties } = withComponentRefs(wrapped);
  for (const [name, { $id: _, id: __, ...shape }] of Object.entries($defs)) components[name] = shape;
  return properties.it;
}

const withComponentRefs = (
  schema: object,
): { $defs?: Record<string, OpenApiObject>; properties: { it: OpenApiObject } } =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));
