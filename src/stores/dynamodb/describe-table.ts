import type { TableDescription } from '@aws-sdk/client-dynamodb';
import type { DynamoClient } from './connection.js';

/** The interval between two descriptions of a table that is being changed. */
export const ACTIVE_POLL_MS = 500;

/** Undefined: there is no such table. */
export async function describeTable(
  dynamo: DynamoClient,
  TableName: string,
): Promise<TableDescription | undefined> {
  const { client, driver } = dynamo;
  const describe = () => client.send(new driver.DescribeTableCommand({ TableName }));
  const reply = await dynamo.withRetries(() => describe().catch(ignoreErrors('ResourceNotFoundException')));
  return reply?.Table;
}

export const ignoreErrors =
  (...names: string[]) =>
  (error: Error): undefined => {
    if (!names.includes(error.name)) throw error;
  };
