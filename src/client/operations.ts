import type { z } from 'zod';
import {
  abhaProfile,
  createAddressByAadhaarRequest,
  createAddressByAadhaarResponse,
  createAddressByMobileRequest,
  createAddressByMobileResponse,
  profile,
  profileRequest,
  serviceIdentifier,
  verifyAadhaarOtpRequest,
  verifyAadhaarOtpResponse,
} from './registration-schemas.ts';
import { drug, labTest, searchRequest, searchResponse } from './search-schemas.ts';

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

const registration = { method: 'POST', repeatable: false, registers: true } as const;

/** The four operations, sections 4.1 to 4.4. */
export const operations = {
  verifyAadhaarOtp: {
    ...registration,
    name: 'verifyAadhaarOtp',
    summary: 'Verify OTP',
    path: 'abdm/na/v1/registration/aadhaar/verify',
    request: verifyAadhaarOtpRequest,
    response: verifyAadhaarOtpResponse,
  },
  createAddressByMobile: {
    ...registration,
    name: 'createAddressByMobile',
    summary: 'Create health address by mobile',
    path: 'abdm/na/v1/registration/mobile/create-phr',
    request: createAddressByMobileRequest,
    response: createAddressByMobileResponse,
  },
  createAddressByAadhaar: {
    ...registration,
    name: 'createAddressByAadhaar',
    summary: 'Create health address by Aadhaar',
    path: 'abdm/na/v1/registration/aadhaar/create-phr',
    request: createAddressByAadhaarRequest,
    response: createAddressByAadhaarResponse,
  },
  searchDrugsAndLabs: {
    name: 'searchDrugsAndLabs',
    summary: 'Search drugs and laboratory tests',
    method: 'GET',
    path: 'medical-db/v1/drugs-and-labs',
    request: searchRequest,
    response: searchResponse,
    repeatable: true,
    registers: false,
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

/** The schemas that the requests and responses are made of, by the names of section 2. */
export const resources = {
  ProfileToRegister: profileRequest,
  Profile: profile,
  AbhaProfile: abhaProfile,
  ServiceIdentifier: serviceIdentifier,
  Drug: drug,
  LabTest: labTest,
};
