import { LOOPBACK_ADDRESSES } from './connection-limits.js';

export interface ListenSettings {
  /** A connection that sends no byte within this time is closed. */
  readonly first_byte_timeout_ms: number;
  /** Timeout for a request's complete headers. */
  readonly headers_timeout_ms: number;
  /** Timeout for a complete request. A connection without traffic in either direction for this time is closed too. */
  readonly request_timeout_ms: number;
  readonly keep_alive_ms: number;
  /** How long a refused peer has to close its side or, after a 401, to send another request. */
  readonly linger_ms: number;
  readonly connections_max: number;
  /** Per IPv4 address, or per /64 of IPv6. */
  readonly connections_per_address_max: number;
  /** Addresses and networks exempt from the limit per address. */
  readonly exempt_addresses: readonly string[];
  /** How long a stop waits for requests in progress. */
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
