import { useQuery } from '@tanstack/react-query';
import { type CallInput, call, type OperationId, type Reply } from './call.js';

/** The reply of a read. It is read again when something has happened in the project. */
export const useReply = <Id extends OperationId>(id: Id, input: CallInput = {}, enabled = true) =>
  useQuery<Reply<Id>>({ queryKey: [id, input], queryFn: () => call(id, input), enabled });
