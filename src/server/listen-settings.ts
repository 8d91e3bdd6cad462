import { LOOPBACK_ADDRESSES } from './connection-limits.js';

export interface ListenSettings {
  /** A connection that has not sent a byte by then is closed. */
  readonly first_byte_timeout_ms: number;
  /** For the whole header of a request. */
  readonly headers_timeout_ms: number;
  /** For the whole request; and a connection on which nothing moves for so long, in either direction, is closed. */
  readonly request_timeout_ms: number;
  readonly keep_alive_ms: number;
  /** How long a peer that was refused has to close its side or, after a 401, to send another request. */
  readonly linger_ms: number;
  readonly connections_max: number;
  /** Of one IPv4 address, or one /64 of IPv6. */
  readonly connections_per_address_max: number;
  /** Addresses and networks that the limit per address does not apply to. */
  readonly exempt_addresses: readonly string[];
  /** How long a stop waits for what was accepted. */
  readonly stop_within_ms: number;
}

export const DEFAULT_LISTEN_SETTINGS: ListenSettings = {
  first_byte_timeout_ms: 5000,
  headers_timeout_ms: 15_000,
  request_timeout_ms: 120_000,
  keep_alive_ms: 65_000,
  linger_ms: 5000,
  connections_max: 50_000,
  connections_per_address_max: 1000,
  exempt_addresses: LOOPBACK_ADDRESSES,
  stop_within_ms: 15_000,
};
