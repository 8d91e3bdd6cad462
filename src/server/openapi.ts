import { z } from 'zod';
import type { ReplySchema, Route } from './route.js';
import { schemaRegistry } from './schemas/common.js';
import { problemSchema } from './schemas/problem.js';

type OpenApiObject = Record<string, unknown>;

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';
/** Statuses of decided refusals; 409 is the default. */
const REFUSAL_STATUSES = ['404', '409', '413', '429'];
const HEADER_PARAMETERS: Readonly<Record<string, OpenApiObject>> = {
  put_plan: header('If-Match', 'the ETag of the plan that this one replaces'),
  events_stream: header('Last-Event-ID', 'the id of the last event that was received'),
};

/** Describes the routes as OpenAPI 3.1, from the schemas that also validate and render. */
export function buildOpenApi(routes: readonly Route[]): OpenApiObject {
  const schemas = new SchemaComponents();
  const paths: Record<string, OpenApiObject> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Genesis Fleet',
      version: '1',
      description: 'The coordinator for fleets of AI agents.',
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

function operation(route: Route, schemas: SchemaComponents): OpenApiObject {
  const isPublic = route.action === 'public';
  return {
    operationId: route.id,
    summary: route.summary,
    security: isPublic ? [] : [{ bearer: [] }, {}],
    'x-action': route.action,
    parameters: [...pathParameters(route), ...queryParameters(route, schemas), ...headerParameters(route)],
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body, schemas) }),
    responses: responses(route, schemas),
  };
}

const pathParameters = ({ path }: Route): OpenApiObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameters({ query }: Route, schemas: SchemaComponents): OpenApiObject[] {
  if (query === undefined) return [];
  const { properties = {} } = schemas.inline(query, 'input') as {
    properties?: Record<string, OpenApiObject>;
  };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

const headerParameters = ({ id }: Route): OpenApiObject[] =>
  HEADER_PARAMETERS[id] === undefined ? [] : [HEADER_PARAMETERS[id]];

function header(name: string, description: string): OpenApiObject {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

function requestBody(body: NonNullable<Route['body']>, schemas: SchemaComponents): OpenApiObject {
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

function responses({ id, reply, isRefusable }: Route, schemas: SchemaComponents): OpenApiObject {
  const content = contentOf(reply, schemas);
  const problem = { [PROBLEM_TYPE]: { schema: schemas.inline(problemSchema, 'output') } };
  const refused = isRefusable
    ? REFUSAL_STATUSES.map((status) => [status, responseObject('Refused', { ...content, ...problem })])
    : [];
  return {
    200: responseObject('As asked', content),
    ...(id === 'submit_result' ? { 202: responseObject('A human must decide on it first', content) } : {}),
    ...Object.fromEntries(refused),
    default: responseObject('What is wrong with the request, or with the server', problem),
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
