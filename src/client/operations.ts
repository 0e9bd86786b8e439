import type { z } from 'zod';
import * as registration from './registration-schemas.ts';
import * as search from './search-schemas.ts';

/** One operation of section 4. */
export interface Operation<Request extends z.ZodType = z.ZodType, Response extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** Its title in section 4. */
  readonly summary: string;
  readonly method: 'GET' | 'POST';
  /** Path below the base address, without a leading slash. */
  readonly path: string;
  readonly request: Request;
  readonly response: Response;
  /** Whether it may be sent twice. An OTP works once, so a registration is not repeatable. */
  readonly repeatable: boolean;
  /** Whether it takes the headers of section 4.1 and returns a service identifier. */
  readonly registers: boolean;
}

const registers = { method: 'POST', repeatable: false, registers: true } as const;

/** The four operations, sections 4.1 to 4.4. */
export const operations = {
  verifyAadhaarOtp: {
    ...registers,
    name: 'verifyAadhaarOtp',
    summary: 'Verify OTP',
    path: 'abdm/na/v1/registration/aadhaar/verify',
    request: registration.verifyAadhaarOtpRequest,
    response: registration.verifyAadhaarOtpResponse,
  },
  createAddressByMobile: {
    ...registers,
    name: 'createAddressByMobile',
    summary: 'Create health address by mobile',
    path: 'abdm/na/v1/registration/mobile/create-phr',
    request: registration.createAddressByMobileRequest,
    response: registration.createAddressByMobileResponse,
  },
  createAddressByAadhaar: {
    ...registers,
    name: 'createAddressByAadhaar',
    summary: 'Create health address by Aadhaar',
    path: 'abdm/na/v1/registration/aadhaar/create-phr',
    request: registration.createAddressByAadhaarRequest,
    response: registration.createAddressByAadhaarResponse,
  },
  searchDrugsAndLabs: {
    name: 'searchDrugsAndLabs',
    summary: 'Search drugs and laboratory tests',
    method: 'GET',
    path: 'medical-db/v1/drugs-and-labs',
    request: search.searchRequest,
    response: search.searchResponse,
    repeatable: true,
    registers: false,
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

/** The schemas that the requests and responses are made of, by the names of section 2. */
export const resources = {
  ProfileToRegister: registration.profileRequest,
  Profile: registration.profile,
  AbhaProfile: registration.abhaProfile,
  ServiceIdentifier: registration.serviceIdentifier,
  Drug: search.drug,
  LabTest: search.labTest,
};
